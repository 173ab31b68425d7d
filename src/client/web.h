/* The way to a url. A program that has none asks over sockets only, and is spared the libraries. */
#ifndef CLIENT_WEB_H
#define CLIENT_WEB_H

struct client_web;
extern const struct client_web client_web;

#endif
