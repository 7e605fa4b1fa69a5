"""A plugin of pytest for rehearsals: tests marked `gpu` then run on the stand-in device."""

from scripts.on_gpu_stages.stand_in import install

install()
