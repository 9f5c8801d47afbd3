/*
 * Counts the executed instructions of one function from its entry to its return, in QEMU.
 *
 * A plugin of QEMU's code generator is told of every block when it is translated, and asks
 * to be called whenever the block is executed. A block has one entry and runs to its end,
 * so its instructions are those executed; those of an IT block that their condition skips
 * count as executed. Plugins of API version 1 cannot read registers, so the return is found
 * by counting calls and returns, which the last instruction of a block tells.
 *
 * The state lies in a file that both this process and uhost map. uhost writes which function
 * to count while the device waits for a request, and reads the counts after its reply.
 *
 * _qemu_counter.py compiles this file for the host on first use, with UHOST_PLUGIN_API
 * set to the API version that the QEMU it found asks for. Without it the plugin asks for
 * a version that no QEMU has, whose error message tells which it has.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef UHOST_PLUGIN_API
int qemu_plugin_version = UHOST_PLUGIN_API;
#else
#define UHOST_PLUGIN_API 1
int qemu_plugin_version = INT32_MAX;
#endif

/* ---- What this plugin uses of QEMU's plugin interface ------------------------------------- */

struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef uint64_t plugin_id;
typedef void (*translated_fn)(plugin_id id, struct qemu_plugin_tb *block);
typedef void (*executed_fn)(unsigned int cpu, void *state);
enum register_use { USES_NO_REGISTERS }; /* enum qemu_plugin_cb_flags */

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, translated_fn call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, executed_fn call,
                                          enum register_use use, void *state);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
#if UHOST_PLUGIN_API >= 3
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction, void *bytes, size_t size);
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
#endif

/* ---- State -------------------------------------------------------------------------------- */

#define CALL_SLOTS 65536u
#define HANDLER_SLOTS 512u
#define EXCEPTION_SLOTS 16u
#define VISIT_SLOTS 262144u

/* What a block did during one call. Mirrored by Visit in _counter.py. */
struct visit {
    uint32_t call; /* the number of the call, or of the one to come */
    uint32_t address;
    uint32_t size_bytes;
    uint32_t executed;
    uint32_t taken; /* of these, how often the next block did not lie right behind it */
};

struct run {
    uint64_t total;
    uint64_t calls[CALL_SLOTS]; /* instructions per call made, with those leading up to it */
    uint32_t size;              /* calls made; those beyond the slots are not stored */
    uint32_t visit_size;        /* visits made, likewise */
    struct visit visits[VISIT_SLOTS];
};

/* Mirrored by _Shared in _qemu_counter.py. */
struct shared {
    uint32_t handler_count; /* written before QEMU starts */
    uint32_t handlers[HANDLER_SLOTS];
    uint32_t entry; /* of the watched function */
    uint32_t end;
    uint32_t watches; /* written last: how many times a function was given */
    uint32_t finished_runs;
    uint32_t reserved;
    struct run runs[2]; /* the last finished run is finished_runs % 2 */
};

enum leave { GOES_ON, CALLS, RETURNS };

struct block {
    uint32_t address;
    uint32_t end;
    uint32_t instructions;
    enum leave leave;
    bool is_handler; /* an exception handler begins here */
    uint32_t executed; /* since it was last written to the log */
    uint32_t taken;
    struct block *next; /* in the list of those executed since */
};

/* Where an exception interrupted: the block before it, and how deep in calls. */
struct place {
    struct block *last;
    int32_t depth;
};

static struct shared *shared;
static struct place now;
static struct place interrupted[EXCEPTION_SLOTS];
static uint32_t exceptions; /* being handled, one within the other */
static uint32_t watches;    /* the value of shared->watches that is being served */
static struct block *touched;   /* blocks executed since the log was last written */
static struct block *last_counted;
static uint64_t before_call; /* instructions of the function itself since its last call */
static bool active;          /* between entry and return */
static bool outside;         /* in a function that the watched one called */

/* ---- Counting ----------------------------------------------------------------------------- */

static struct run *running(void)
{
    return &shared->runs[(shared->finished_runs + 1u) % 2u];
}

static void add_to_last_call(uint64_t instructions)
{
    struct run *run = running();

    if (run->size != 0 && run->size <= CALL_SLOTS) {
        run->calls[run->size - 1u] += instructions;
    }
}

/* Writes to the log what each block did since this was done last. */
static void write_log(void)
{
    struct run *run = running();

    for (; touched != NULL; touched = touched->next) {
        if (run->visit_size < VISIT_SLOTS) {
            run->visits[run->visit_size] = (struct visit){
                .call = outside ? run->size - 1u : run->size,
                .address = touched->address,
                .size_bytes = touched->end - touched->address,
                .executed = touched->executed,
                .taken = touched->taken,
            };
        }
        run->visit_size++;
        touched->executed = 0;
        touched->taken = 0;
    }
}

static void begin(void)
{
    write_log(); /* of a call that was left unfinished */
    running()->total = 0;
    running()->size = 0;
    running()->visit_size = 0;
    before_call = 0;
    outside = false;
    active = true;
    now.depth = 0;
}

static void note_jump(const struct block *block)
{
    if (block->address != last_counted->end) {
        last_counted->taken++;
    }
}

static void count(struct block *block)
{
    struct run *run = running();
    const bool inside = block->address >= shared->entry && block->address < shared->end;

    if (inside && outside) {
        write_log(); /* of the call that has returned */
    }
    if (block->executed == 0) {
        block->next = touched;
        touched = block;
    }
    block->executed++;
    last_counted = block;
    run->total += block->instructions;
    if (inside) {
        outside = false;
        before_call += block->instructions;
        return;
    }
    if (!outside) {
        outside = true;
        run->size++;
        if (run->size <= CALL_SLOTS) {
            run->calls[run->size - 1u] = 0;
        }
        add_to_last_call(before_call);
        before_call = 0;
    }
    add_to_last_call(block->instructions);
}

/* Follows the calls and returns that lead from the last block to this one. */
static void arrive(struct block *block)
{
    for (;;) {
        /* Going on behind the last block, its condition did not let it leave. */
        if (now.last != NULL && block->address != now.last->end) {
            if (now.last->leave == CALLS) {
                now.depth++;
            } else if (now.last->leave == RETURNS) {
                now.depth--;
            }
        }
        if (exceptions == 0 || now.depth >= 0) {
            break;
        }
        now = interrupted[--exceptions]; /* the handler has returned to what it interrupted */
    }
    now.last = block;
}

static void executed(unsigned int cpu, void *state)
{
    struct block *block = state;

    (void)cpu;
    if (shared->watches != watches) {
        watches = shared->watches;
        active = false;
        exceptions = 0;
        now.last = NULL;
        now.depth = 0;
    }
    if (watches == 0) {
        return;
    }
    if (block->is_handler && exceptions < EXCEPTION_SLOTS) {
        interrupted[exceptions++] = now;
        now.last = block;
        now.depth = 0;
        return;
    }
    arrive(block);
    if (exceptions != 0) {
        return;
    }
    if (!active) {
        if (block->address != shared->entry) {
            return;
        }
        begin();
    } else {
        note_jump(block);
    }
    if (now.depth < 0) {
        add_to_last_call(before_call);
        write_log();
        active = false;
        shared->finished_runs++;
        return;
    }
    count(block);
}

/* ---- Translation -------------------------------------------------------------------------- */

/* Returns how a Thumb instruction leaves its block. */
static enum leave decode(const uint8_t *bytes, size_t size)
{
    uint32_t first;
    uint32_t second;

    if (size < 2) {
        return GOES_ON;
    }
    first = bytes[0] | (uint32_t)bytes[1] << 8;
    if (size == 2) {
        if ((first & 0xFF87u) == 0x4780u) { /* BLX register */
            return CALLS;
        }
        /* BX LR, MOV PC, LR and POP {..., PC} */
        return first == 0x4770u || first == 0x46F7u || (first & 0xFF00u) == 0xBD00u ? RETURNS
                                                                                    : GOES_ON;
    }
    second = bytes[2] | (uint32_t)bytes[3] << 8;
    if ((first & 0xF800u) == 0xF000u && (second & 0xD000u) == 0xD000u) { /* BL */
        return CALLS;
    }
    if ((first == 0xE8BDu && (second & 0x8000u) != 0) || /* POP.W {..., PC} */
        (first == 0xF85Du && second == 0xFB04u)) {       /* LDR PC, [SP], #4 */
        return RETURNS;
    }
    return GOES_ON;
}

/* Copies an instruction's bytes, and returns its size. */
static size_t read_instruction(const struct qemu_plugin_insn *instruction, uint8_t bytes[4])
{
    size_t size = qemu_plugin_insn_size(instruction);

    size = size < 4 ? size : 4;
#if UHOST_PLUGIN_API >= 3
    size = qemu_plugin_insn_data(instruction, bytes, size);
#else
    memcpy(bytes, qemu_plugin_insn_data(instruction), size);
#endif
    /* Looking past the end of a page, QEMU 7 takes the next instruction's bytes for this one's. */
    return size == 4 && bytes[1] >> 3 < 0x1D ? 2 : size;
}

static void translated(plugin_id id, struct qemu_plugin_tb *translation)
{
    const size_t instructions = qemu_plugin_tb_n_insns(translation);
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(translation, instructions - 1);
    uint8_t bytes[4] = {0, 0, 0, 0};
    const size_t size = read_instruction(last, bytes);
    /* Never freed: QEMU does not tell when it drops a translation, and there are few. */
    struct block *block = calloc(1, sizeof *block);

    (void)id;
    if (block == NULL) {
        abort();
    }
    block->address = (uint32_t)qemu_plugin_tb_vaddr(translation);
    block->end = (uint32_t)(qemu_plugin_insn_vaddr(last) + size);
    block->instructions = (uint32_t)instructions;
    block->leave = decode(bytes, size);
    for (uint32_t i = 0; i < shared->handler_count; i++) {
        block->is_handler |= shared->handlers[i] == block->address;
    }
    qemu_plugin_register_vcpu_tb_exec_cb(translation, executed, USES_NO_REGISTERS, block);
}

int qemu_plugin_install(plugin_id id, const void *qemu, int count_of_arguments, char **arguments)
{
    static const char key[] = "state=";
    void *mapped;
    int file;

    (void)qemu;
    if (count_of_arguments != 1 || strncmp(arguments[0], key, sizeof key - 1) != 0) {
        return 1;
    }
    file = open(arguments[0] + sizeof key - 1, O_RDWR);
    if (file < 0) {
        return 1;
    }
    mapped = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    (void)close(file);
    if (mapped == MAP_FAILED) {
        return 1;
    }
    shared = mapped;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
