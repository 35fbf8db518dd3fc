from hypothesis import settings

settings.register_profile("plain", deadline=None)  # machines are noisy; nothing here is timed
settings.load_profile("plain")
