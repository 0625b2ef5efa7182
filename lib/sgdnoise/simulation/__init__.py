"""The engine room of :func:`sgdnoise.simulate`: random numbers, kernels, the training loop.

=================  ======================================================================================
module             what it does
=================  ======================================================================================
``threefry``       counter-based random bits: any number of the stream, in any order, at once
``normals``        standard normals from those bits, and the data set made of them
``batches``        which samples are in the batch: one two-state chain a sample
``rows``           dot products and sums over chosen rows of a matrix, four rows and two vectors at a time
``feature_space``  the state is the weights; one blocked pass over the data a step (more samples than features)
``sample_space``   the state is the pre-activations; one Gram matrix (no more samples than features)
``training``       the loop over steps: records, stopping rule, divergence
``plan``           checks what was asked for, before any work
``progress``       a line that says how far a long run has come
=================  ======================================================================================
"""
