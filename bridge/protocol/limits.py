"""Every number a caller can run into, with its unit in the name."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# The socket.
HELLO_SECONDS: Final = 5.0
HELLO_FRAME_BYTES: Final = 4 * KIB
FRAME_BYTES: Final = 8 * MIB
REST_BODY_BYTES: Final = 8 * MIB
JSON_DEPTH: Final = 64
REQUEST_ID_CHARACTERS: Final = 128
CLIENT_CHARACTERS: Final = 128
NAME_CHARACTERS: Final = 64
SOCKETS_AWAITING_HELLO: Final = 16
SOCKETS_AUTHENTICATED: Final = 64
PING_SECONDS: Final = 30.0
PONG_SECONDS: Final = 20.0
UNSENT_BYTES: Final = 32 * MIB
QUEUED_PUSHES: Final = 256

# Rates.
RATE_PER_SECOND: Final = 5.0
RATE_BURST: Final = 10
PACED_SECONDS: Final = 3.0
LOG_FRAMES_PER_SECOND: Final = 200.0
LOG_FRAMES_BURST: Final = 400
LOG_FLOOD_SECONDS: Final = 10.0

# Log records.
LOG_RECORDS: Final = 200
LOG_MESSAGE_CHARACTERS: Final = 4000
LOG_SCOPE_CHARACTERS: Final = 64
LOG_FILE_BYTES: Final = 8 * MIB

# State.
STATE_NAME_CHARACTERS: Final = 64
STATE_VALUE_BYTES: Final = 64 * KIB
STATE_FILE_BYTES: Final = 8 * MIB
STATE_DAEMON_BYTES: Final = 1 * MIB

# Plugins: the clone.
URL_CHARACTERS: Final = 512
CLONE_SECONDS: Final = 120.0
CLONE_RECEIVED_BYTES: Final = 32 * MIB
CLONE_OBJECTS: Final = 5000
CLONE_REDIRECTS: Final = 3
TREE_FILES: Final = 2000
TREE_BYTES: Final = 16 * MIB

# Plugins: the manifest and the signature.
MANIFEST_BYTES: Final = 64 * KIB
SIGNATURE_BYTES: Final = 64 * KIB
MANIFEST_TEXT_CHARACTERS: Final = 200
MANIFEST_RANGE_CHARACTERS: Final = 100
MANIFEST_TAGS: Final = 8
MANIFEST_LIST_ENTRIES: Final = 64
SIGNED_AHEAD_SECONDS: Final = 600

# Plugins: the source policy.
SOURCE_FILES: Final = 200
SOURCE_BYTES: Final = 2 * MIB
POLICY_HITS: Final = 50

# Plugins: prompts and the build.
PROMPT_SECONDS: Final = 120.0
BUILD_SECONDS: Final = 60.0
BUILD_OUTPUT_CHARACTERS: Final = 4000
PROGRESS_PER_SECOND: Final = 5
