"""The machinery of stages: their declaration, freshness, tasks, drafts and manifests."""
