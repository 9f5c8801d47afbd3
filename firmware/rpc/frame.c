#include "frame.h"

#include "hal.h"
#include "protocol.h"

#define LONGEST_BLOCK 254u
#define CRC_START 0xFFFFFFFFu

/* CRC-32 of IEEE 802.3, reflected, four bits at a time: 64 bytes of table instead of 1024. */
static uint32_t crc_over(uint32_t crc, const uint8_t *bytes, uint32_t size)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
        0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
        0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };

    for (uint32_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ table[crc & 15u];
        crc = (crc >> 4) ^ table[crc & 15u];
    }
    return crc;
}

uint32_t uhost_crc(const uint8_t *bytes, uint32_t size)
{
    return ~crc_over(CRC_START, bytes, size);
}

/* ---- Receiving ---------------------------------------------------------------------------- */

static void append(struct uhost_receiver *receiver, uint8_t byte)
{
    if (receiver->size < receiver->capacity) {
        receiver->buffer[receiver->size++] = byte;
    } else {
        receiver->damaged = true;
    }
}

static void start_frame(struct uhost_receiver *receiver)
{
    receiver->size = 0;
    receiver->block_left = 0;
    receiver->zero_due = false;
    receiver->started = false;
    receiver->damaged = false;
}

static void start_block(struct uhost_receiver *receiver, uint8_t code)
{
    if (!receiver->started) {
        start_frame(receiver);
        receiver->started = true;
    }
    if (receiver->zero_due) {
        append(receiver, 0);
    }
    receiver->block_left = (uint8_t)(code - 1u);
    receiver->zero_due = code <= LONGEST_BLOCK;
}

/* At a delimiter: true if an undamaged frame ends here. */
static bool end_frame(struct uhost_receiver *receiver)
{
    bool intact = !receiver->damaged && receiver->block_left == 0 &&
                  receiver->size >= UHOST_FRAME_HEADER_BYTES + UHOST_FRAME_CRC_BYTES;

    if (!receiver->started) {
        return false;
    }
    receiver->started = false;
    receiver->block_left = 0;
    if (intact) {
        receiver->size -= UHOST_FRAME_CRC_BYTES;
        intact = uhost_crc(receiver->buffer, receiver->size) ==
                 uhost_get_u32(receiver->buffer + receiver->size);
    }
    if (!intact) {
        receiver->dropped++;
    }
    return intact;
}

uint32_t uhost_receiver_feed(struct uhost_receiver *receiver, const uint8_t *data, uint32_t size,
                             bool *complete)
{
    uint32_t taken = 0;

    *complete = false;
    while (taken < size && !*complete) {
        uint8_t byte = data[taken++];

        if (byte == 0) {
            *complete = end_frame(receiver);
        } else if (receiver->block_left == 0) {
            start_block(receiver, byte);
        } else {
            receiver->block_left--;
            append(receiver, byte);
        }
    }
    return taken;
}

/* ---- Sending ------------------------------------------------------------------------------ */

/* The block under way. Its first byte is the code: one more than the bytes that follow. */
static uint8_t block[1 + LONGEST_BLOCK];
static uint32_t block_size;
static uint32_t sent_crc;

static void send_block(void)
{
    block[0] = (uint8_t)block_size;
    uhost_hal_write(block, block_size);
    block_size = 1;
}

static void stuff(const uint8_t *bytes, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        /* A full block is sent when a byte follows it, so that none is empty at the end. */
        if (block_size == sizeof block) {
            send_block();
        }
        if (bytes[i] == 0) {
            send_block();
        } else {
            block[block_size++] = bytes[i];
        }
    }
}

void uhost_frame_begin(uint8_t type, uint16_t session, uint16_t sequence)
{
    static const uint8_t delimiter = 0;
    uint8_t header[UHOST_FRAME_HEADER_BYTES];

    header[0] = UHOST_PROTOCOL_VERSION;
    header[1] = type;
    uhost_put_u16(header + 2, session);
    uhost_put_u16(header + 4, sequence);
    /* Ends a frame that a fault cut short, and noise from before the line was up. */
    uhost_hal_write(&delimiter, 1);
    block_size = 1;
    sent_crc = CRC_START;
    uhost_frame_put(header, sizeof header);
}

void uhost_frame_put(const void *bytes, uint32_t size)
{
    sent_crc = crc_over(sent_crc, bytes, size);
    stuff(bytes, size);
}

void uhost_frame_end(void)
{
    static const uint8_t delimiter = 0;
    uint8_t crc[UHOST_FRAME_CRC_BYTES];

    uhost_put_u32(crc, ~sent_crc);
    stuff(crc, sizeof crc);
    send_block();
    uhost_hal_write(&delimiter, 1);
}
