"""Extracts named members from untrusted archives; formats are recognized by content, and members are streamed.

Supported are tar (plain, gzip, bzip2, xz, zstd), zip, and single files (plain or compressed). A member that is itself
compressed is decompressed too. A tar is read once, to its end, so that its compression's checksum is verified.
"""
