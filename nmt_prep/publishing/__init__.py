"""What training reads, in an object store: publishing it there, and fetching it back."""
