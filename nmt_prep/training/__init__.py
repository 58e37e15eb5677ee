"""Everything between clean text and batches: records, batches, mixtures, modifiers, outputs and loaders."""
