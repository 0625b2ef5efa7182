"""Random numbers for both engines: counter-based bits, normals, and the batches that are drawn with them."""
