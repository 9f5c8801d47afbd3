/* The firmware: an RPC server that sleeps when nothing is asked. */
#include "hal.h"
#include "server.h"

#define PIECE_BYTES 64u

int main(void)
{
    static uint8_t piece[PIECE_BYTES];

    uhost_hal_init();
    for (;;) {
        uint32_t size = uhost_hal_read(piece, sizeof piece);

        if (size > 0) {
            uhost_rpc_receive(piece, size);
        } else {
            uhost_hal_wait();
        }
    }
}
