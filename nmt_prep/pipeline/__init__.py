"""Stages as such: what one is, which are fresh, running them, their drafts, tasks and manifests."""
