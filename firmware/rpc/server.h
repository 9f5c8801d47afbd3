/* The RPC server: answers the requests of protocol.h for the models of model_table.h. */
#ifndef UHOST_SERVER_H
#define UHOST_SERVER_H

#include <stdint.h>

/* Takes received bytes, in pieces of any size, and answers every request they complete. */
void uhost_rpc_receive(const uint8_t *data, uint32_t size);

/* Sends a line of text to the host. Not from interrupt handlers. */
void uhost_rpc_log(const char *line);

#endif /* UHOST_SERVER_H */
