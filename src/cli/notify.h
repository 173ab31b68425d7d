/* Telling systemd how the service is. */
#ifndef CLI_NOTIFY_H
#define CLI_NOTIFY_H

/* "READY=1", "RELOADING=1", "STOPPING=1"; nothing where nobody asked for it. */
void notify(const char *state);

#endif
