"""losslesscheck settles whether speculative decoding is lossless."""
