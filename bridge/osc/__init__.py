"""OSC on loopback: packets, the port listened on, and how often pages hear of it."""
