"""The rules that losslesscheck knows, one file each."""
