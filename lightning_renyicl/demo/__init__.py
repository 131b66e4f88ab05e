"""``make demo``: RényiCL on scikit-learn's digits as images, as rows and as graphs."""
