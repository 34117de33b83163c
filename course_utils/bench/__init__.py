"""What `python -m course_utils bench` measures: one device, from its roofs to whole steps.

It runs where Keras runs on TensorFlow, and with KERAS_BACKEND=jax from the same code on JAX, also
where no TensorFlow is installed. Importing this package loads neither: `bench.start` gets the
backend ready, then `bench.record` measures.
"""
