"""What comes of a sweep, as data: cases, findings, events, evidence, records with a schema. Reports read this
package alone.
"""

from __future__ import annotations
