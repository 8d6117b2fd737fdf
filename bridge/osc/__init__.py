"""OSC on loopback: packets, the listening port, and the rate of pushes."""
