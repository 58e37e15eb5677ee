"""What the program finds in the process and the environment that it runs in: cores, optional libraries."""
