"""Files of skops.io: turned into the inert records that a pickle of the same object gives."""
