"""The bundled demo model, its real samples, and the script that trained it."""
