/*
 * Counts the executed instructions of one function from its entry to its return.
 *
 * uhost_count_block() is a Unicorn block hook (UC_HOOK_BLOCK): the engine calls it at the
 * start of every translated block with the block's address and size. A block has one entry
 * and runs to its end, so the number of Thumb instructions between the two is the number
 * executed; those of an IT block that their condition skips count as executed.
 *
 * _counter.py compiles this file for the host on first use, and holds the same state
 * machine in Python for hosts without a compiler. It needs no C library.
 */
#include <stdint.h>

#define BLOCK_SLOTS 65536u /* direct-mapped, indexed by bits 16:1 of the address */

typedef int (*read_register_fn)(void *engine, int identifier, void *value);
typedef int (*read_memory_fn)(void *engine, uint64_t address, void *bytes, uint64_t size_bytes);

struct block {
    uint32_t address;
    uint16_t size_bytes; /* 0: the slot is empty */
    uint16_t instructions;
};

struct call_list {
    uint64_t total;
    uint64_t *calls; /* instructions per call the function made, with those leading up to it */
    uint32_t size;   /* calls made; those beyond the capacity are counted, but not stored */
    uint32_t reserved;
};

/* Mirrored by _State in _counter.py. */
struct counter {
    read_register_fn read_register;
    read_memory_fn read_memory;
    struct block *blocks;
    struct call_list running;
    struct call_list finished;
    uint64_t finished_runs;
    uint64_t before_call; /* instructions of the function itself since its last call */
    uint32_t call_capacity;
    int32_t sp_register;
    int32_t lr_register;
    uint32_t entry;
    uint32_t end;
    uint32_t paused; /* an exception is being handled */
    uint32_t active; /* between entry and return */
    uint32_t outside; /* in a function that the watched one called */
    uint32_t entry_sp;
    uint32_t return_address;
};

static uint32_t register_value(const struct counter *counter, void *engine, int32_t identifier)
{
    uint32_t value = 0;

    (void)counter->read_register(engine, identifier, &value);
    return value;
}

/* A halfword whose top five bits are 11101, 11110 or 11111 begins a 32-bit instruction. */
static uint16_t decode(const struct counter *counter, void *engine, uint32_t address,
                       uint32_t size_bytes)
{
    uint16_t instructions = 0;
    uint32_t offset = 0;
    uint8_t halfword[2] = {0, 0};

    while (offset < size_bytes) {
        (void)counter->read_memory(engine, address + offset, halfword, sizeof halfword);
        offset += (halfword[1] >> 3) >= 0x1Du ? 4u : 2u;
        instructions++;
    }
    return instructions;
}

static uint16_t instructions_of(const struct counter *counter, void *engine, uint32_t address,
                                uint32_t size_bytes)
{
    struct block *slot = &counter->blocks[(address >> 1) % BLOCK_SLOTS];

    if (slot->address != address || slot->size_bytes != size_bytes) {
        slot->instructions = decode(counter, engine, address, size_bytes);
        slot->address = address;
        slot->size_bytes = (uint16_t)size_bytes;
    }
    return slot->instructions;
}

static void begin(struct counter *counter, void *engine)
{
    counter->running.total = 0;
    counter->running.size = 0;
    counter->before_call = 0;
    counter->outside = 0;
    counter->entry_sp = register_value(counter, engine, counter->sp_register);
    counter->return_address = register_value(counter, engine, counter->lr_register) & ~1u;
    counter->active = 1;
}

static void add_to_last_call(struct counter *counter, uint64_t instructions)
{
    if (counter->running.size != 0 && counter->running.size <= counter->call_capacity) {
        counter->running.calls[counter->running.size - 1] += instructions;
    }
}

static void finish(struct counter *counter)
{
    struct call_list done;

    add_to_last_call(counter, counter->before_call);
    done = counter->running;
    counter->running.calls = counter->finished.calls;
    counter->finished.total = done.total;
    counter->finished.calls = done.calls;
    counter->finished.size = done.size;
    counter->finished_runs++;
    counter->active = 0;
}

void uhost_count_block(void *engine, uint64_t address64, uint32_t size_bytes, void *state)
{
    struct counter *counter = state;
    const uint32_t address = (uint32_t)address64;
    uint32_t instructions;

    if (counter->paused) {
        return;
    }
    if (!counter->active) {
        if (address != counter->entry) {
            return;
        }
        begin(counter, engine);
    } else if (address == counter->return_address &&
               register_value(counter, engine, counter->sp_register) == counter->entry_sp) {
        finish(counter);
        return;
    }

    instructions = instructions_of(counter, engine, address, size_bytes);
    counter->running.total += instructions;
    if (address >= counter->entry && address < counter->end) {
        counter->outside = 0;
        counter->before_call += instructions;
        return;
    }
    if (!counter->outside) {
        counter->outside = 1;
        counter->running.size++;
        if (counter->running.size <= counter->call_capacity) {
            counter->running.calls[counter->running.size - 1] = 0;
        }
        add_to_last_call(counter, counter->before_call);
        counter->before_call = 0;
    }
    add_to_last_call(counter, instructions);
}
