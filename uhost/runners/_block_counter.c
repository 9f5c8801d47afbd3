/*
 * Counts the executed instructions of one function from its entry to its return.
 *
 * uhost_count_block() is a Unicorn block hook (UC_HOOK_BLOCK): the engine calls it at the
 * start of every translated block with the block's address and size. A block has one entry
 * and runs to its end, so the number of Thumb instructions between the two is the number
 * executed; those of an IT block that their condition skips count as executed. It also
 * tells how often each block was executed and left by a jump, for each call on its own.
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
    uint32_t executed; /* since they were last written to the log */
    uint32_t taken;    /* of these, how often the next block did not lie right behind it */
};

/* What a block did during one call. */
struct visit {
    uint32_t call; /* the number of the call, or of the one to come */
    uint32_t address;
    uint32_t size_bytes;
    uint32_t executed;
    uint32_t taken;
};

struct visit_list {
    struct visit *visits;
    uint32_t size; /* those made; those beyond the capacity are not stored */
    uint32_t capacity;
};

struct call_list {
    uint64_t total;
    uint64_t *calls; /* instructions per call the function made, with those leading up to it */
    uint32_t size;   /* calls made; those beyond the capacity are counted, but not stored */
    uint32_t reserved;
    struct visit_list log;
};

/* Mirrored by _State in _counter.py. */
struct counter {
    read_register_fn read_register;
    read_memory_fn read_memory;
    struct block *blocks;
    uint32_t *touched; /* slots of blocks executed since the log was last written */
    struct block *last; /* the block executed before this one */
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
    uint32_t last_end; /* the address behind the last block */
    uint32_t touched_size;
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

/* Writes to the log what a block did since it was last written. */
static void log_visit(struct counter *counter, struct block *block)
{
    struct visit_list *log = &counter->running.log;
    const uint32_t calls = counter->running.size;

    if (block->executed == 0) {
        return;
    }
    if (log->size < log->capacity) {
        log->visits[log->size] = (struct visit){
            .call = counter->outside ? calls - 1u : calls,
            .address = block->address,
            .size_bytes = block->size_bytes,
            .executed = block->executed,
            .taken = block->taken,
        };
    }
    log->size++;
    block->executed = 0;
    block->taken = 0;
}

static void write_log(struct counter *counter)
{
    for (uint32_t i = 0; i < counter->touched_size; i++) {
        log_visit(counter, &counter->blocks[counter->touched[i]]);
    }
    counter->touched_size = 0;
}

static struct block *block_at(struct counter *counter, void *engine, uint32_t address,
                              uint32_t size_bytes)
{
    const uint32_t slot = (address >> 1) % BLOCK_SLOTS;
    struct block *block = &counter->blocks[slot];

    if (block->address != address || block->size_bytes != size_bytes) {
        log_visit(counter, block);
        block->instructions = decode(counter, engine, address, size_bytes);
        block->address = address;
        block->size_bytes = (uint16_t)size_bytes;
    }
    return block;
}

static void begin(struct counter *counter, void *engine)
{
    counter->running.total = 0;
    counter->running.size = 0;
    counter->running.log.size = 0;
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
    write_log(counter);
    done = counter->running;
    counter->running = counter->finished;
    counter->finished = done;
    counter->finished_runs++;
    counter->active = 0;
}

void uhost_count_block(void *engine, uint64_t address64, uint32_t size_bytes, void *state)
{
    struct counter *counter = state;
    const uint32_t address = (uint32_t)address64;
    struct block *block;
    uint32_t inside;

    if (counter->paused) {
        return;
    }
    if (!counter->active) {
        if (address != counter->entry) {
            return;
        }
        begin(counter, engine);
    } else {
        if (address != counter->last_end) {
            counter->last->taken++;
        }
        if (address == counter->return_address &&
            register_value(counter, engine, counter->sp_register) == counter->entry_sp) {
            finish(counter);
            return;
        }
    }

    inside = address >= counter->entry && address < counter->end;
    if (inside && counter->outside) {
        write_log(counter); /* of the call that has returned */
    }
    block = block_at(counter, engine, address, size_bytes);
    if (block->executed == 0) {
        if (counter->touched_size == BLOCK_SLOTS) { /* some were put out of their slots */
            write_log(counter);
        }
        counter->touched[counter->touched_size++] = (uint32_t)(block - counter->blocks);
    }
    block->executed++;
    counter->last = block;
    counter->last_end = address + size_bytes;
    counter->running.total += block->instructions;
    if (inside) {
        counter->outside = 0;
        counter->before_call += block->instructions;
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
    add_to_last_call(counter, block->instructions);
}
