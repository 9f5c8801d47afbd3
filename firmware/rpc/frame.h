/* Frames on the line: COBS between zero bytes; inside, a header, a payload and a CRC-32. */
#ifndef UHOST_FRAME_H
#define UHOST_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* Takes a frame apart as its bytes come. Set buffer and capacity; zero the rest. */
struct uhost_receiver {
    uint8_t *buffer;
    uint32_t capacity;
    uint32_t size;         /* decoded bytes in the buffer */
    uint32_t dropped;      /* damaged frames since reset */
    uint8_t block_left;    /* bytes to come before the next code byte */
    bool zero_due;         /* the block stands for a zero, if another block follows */
    bool started;          /* something came since the last delimiter */
    bool damaged;          /* too long, or cut short: ignored up to the next delimiter */
};

/*
 * Takes bytes up to the end of the next undamaged frame and returns how many it took.
 * *complete tells whether there is one: its header and payload, without the CRC, are in
 * buffer[0..size) until the next call. Damaged frames are counted and dropped.
 */
uint32_t uhost_receiver_feed(struct uhost_receiver *receiver, const uint8_t *data, uint32_t size,
                             bool *complete);

/* CRC-32 of IEEE 802.3 over the bytes: the one that frames end with. */
uint32_t uhost_crc(const uint8_t *bytes, uint32_t size);

/* A frame is sent as it is made: begin, any number of puts, end. */
void uhost_frame_begin(uint8_t type, uint16_t session, uint16_t sequence);
void uhost_frame_put(const void *bytes, uint32_t size);
void uhost_frame_end(void);

#endif /* UHOST_FRAME_H */
