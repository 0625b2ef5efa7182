"""The engine of :func:`sgdnoise.simulate`.

=================  ======================================================================================
module             what it does
=================  ======================================================================================
``simulate``       the public functions: checks, threads, the dataset
``plan``           what a call will do, checked before any work
``step``           training on one data set: the loop over steps
``by_features``    the state is the weights; one blocked pass over the data a step (more samples than features)
``by_samples``     the state is the pre-activations; one Gram matrix (no more samples than features)
``response``       waiting times, kicks, integrated response
``stopping``       which columns go on, have stopped, have diverged
``record``         what is written down, and the trace of a run
``state``          small records that the others share
=================  ======================================================================================
"""
