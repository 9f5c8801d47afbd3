"""Puts images into the flash of boards through the loaders in their chips' ROM."""
