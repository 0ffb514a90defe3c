"""Proofs of derivative rules.
"""
