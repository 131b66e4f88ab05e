"""How runs are made: the command in processes of its own, a lock, a queue, replays, and what it all costs."""
