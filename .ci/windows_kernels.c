/* Compiles, links and runs kernels with llvmlite's library for Windows, as myoquat/kernels/runtime/llvm.py does there.

       windows_kernels.exe llvmlite.dll FOLDER

   FOLDER holds `target` (triple, processor, features) and files *.call, which kernel_bits.py writes: units of assembly,
   and the rows of all arrays, of outputs with the bits that they have on the machine that wrote them. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

typedef struct {
    uint8_t kind; /* 2: an object file, 3: another library, here the process */
    const char *value;
    size_t size;
} Element;

typedef struct {
    const char *name;
    uint64_t address;
} Symbol;

typedef void (*Entry)(int64_t *table, int64_t begin, int64_t end, double *frame);

static HMODULE library;
static const char *message = "";

#define FUNCTION(result, name, ...) typedef result (*name##_type)(__VA_ARGS__)
FUNCTION(int, InitializeNativeTarget, void);
FUNCTION(int, InitializeNativeAsmPrinter, void);
FUNCTION(void *, GetTargetFromTriple, const char *, const char **);
FUNCTION(void *, CreateTargetMachine, void *, const char *, const char *, const char *, int, const char *, const char *,
         int, int, const char *);
FUNCTION(void *, CreateTargetMachineData, void *);
FUNCTION(void, CopyStringRepOfTargetData, void *, const char **);
FUNCTION(void *, ContextCreate, void);
FUNCTION(void *, ParseAssembly, void *, const char *, const char **);
FUNCTION(void, SetTarget, void *, const char *);
FUNCTION(void, SetDataLayout, void *, const char *);
FUNCTION(void *, TargetMachineEmitToMemory, void *, void *, int, const char **);
FUNCTION(void *, GetBufferStart, void *);
FUNCTION(size_t, GetBufferSize, void *);
FUNCTION(void *, CreateLLJITCompiler, void *, char, char, const char **);
FUNCTION(void *, LLJIT_Link, void *, const char *, Element *, size_t, Symbol *, size_t, Symbol *, size_t, const char **);

static void check(int holds, const char *otherwise) {
    if (holds) return;
    fprintf(stderr, "%s: %s (error %lu)\n", otherwise, message, GetLastError());
    exit(1);
}

static void *found(const char *name) {
    void *function = (void *)GetProcAddress(library, name);
    check(function != NULL, name);
    return function;
}

#define LLVM(name) ((name##_type)found("LLVMPY_" #name))

static char *content(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    check(file != NULL, path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = calloc(*size + 1, 1);
    if (fread(bytes, 1, *size, file) != *size) exit(1);
    fclose(file);
    return bytes;
}

static void *machine(char *triple, char *cpu, char *features) {
    void *target = LLVM(GetTargetFromTriple)(triple, &message);
    check(target != NULL, triple);
    void *made = LLVM(CreateTargetMachine)(target, triple, cpu, features, 1, "static", "large", 0, 0, "");
    check(made != NULL, cpu);
    return made;
}

static Element compiled(void *machine, const char *triple, const char *text) {
    const char *layout;
    void *module = LLVM(ParseAssembly)(LLVM(ContextCreate)(), text, &message);
    check(module != NULL, "LLVM assembly");
    LLVM(SetTarget)(module, triple);
    LLVM(CopyStringRepOfTargetData)(LLVM(CreateTargetMachineData)(machine), &layout);
    LLVM(SetDataLayout)(module, layout);
    void *buffer = LLVM(TargetMachineEmitToMemory)(machine, module, 1, &message);
    check(buffer != NULL, "machine code");
    return (Element){2, LLVM(GetBufferStart)(buffer), LLVM(GetBufferSize)(buffer)};
}

static int64_t number(char **at) {
    int64_t value;
    memcpy(&value, *at, sizeof value);
    *at += sizeof value;
    return value;
}

/* The numbers of all outputs of one call, and how many of them differ. */
static void repeat(char *at, char *target[3], int64_t *numbers, int64_t *differing) {
    int64_t units = number(&at), states = number(&at), slots = number(&at), inputs = number(&at), arrays = number(&at);
    Element *elements = calloc((size_t)units + 1, sizeof *elements);
    elements[0] = (Element){3, "", 0};
    for (int64_t k = 0; k < units; k++) {
        int64_t size = number(&at);
        elements[k + 1] = compiled(machine(target[0], target[1], target[2]), target[0], at);
        at += size;
    }
    Symbol entry = {"kernel", 0};
    void *linker = LLVM(CreateLLJITCompiler)(machine(target[0], target[1], target[2]), 0, 0, &message);
    check(linker != NULL, "a linker");
    void *linked = LLVM(LLJIT_Link)(linker, "kernel", elements, (size_t)units + 1, NULL, 0, &entry, 1, &message);
    check(linked != NULL, "linking");
    int64_t *table = calloc(2 * (size_t)arrays, sizeof *table), *sizes = calloc((size_t)arrays, sizeof *sizes);
    char **wanted = calloc((size_t)arrays, sizeof *wanted);
    for (int64_t k = 0; k < arrays; k++) {
        table[2 * k + 1] = number(&at);
        sizes[k] = number(&at);
        char *rows = malloc((size_t)sizes[k] + 8);
        wanted[k] = at;
        memset(rows, 0x7f, (size_t)sizes[k]);
        if (k < inputs) memcpy(rows, at, (size_t)sizes[k]);
        table[2 * k] = (int64_t)rows;
        at += sizes[k];
    }
    char *frame = calloc((size_t)slots * 8 + 64, 1);
    ((Entry)entry.address)(table, 0, states, (double *)(((intptr_t)frame + 63) & ~(intptr_t)63));
    for (int64_t k = inputs; k < arrays; k++)
        for (int64_t byte = 0; byte < sizes[k]; byte += 8, ++*numbers)
            *differing += memcmp((char *)table[2 * k] + byte, wanted[k] + byte, 8) != 0;
}

int main(int count, char **arguments) {
    char path[1024], *target[3];
    size_t size;
    WIN32_FIND_DATAA item;
    int64_t calls = 0, numbers = 0, differing = 0;
    if (count != 3) return 2;
    library = LoadLibraryA(arguments[1]);
    check(library != NULL, "the library cannot be loaded");
    LLVM(InitializeNativeTarget)();
    LLVM(InitializeNativeAsmPrinter)();
    snprintf(path, sizeof path, "%s/target", arguments[2]);
    target[0] = strtok(content(path, &size), "\n");
    target[1] = strtok(NULL, "\n");
    target[2] = strtok(NULL, "\n");
    snprintf(path, sizeof path, "%s/*.call", arguments[2]);
    HANDLE search = FindFirstFileA(path, &item);
    do {
        snprintf(path, sizeof path, "%s/%s", arguments[2], item.cFileName);
        repeat(content(path, &size), target, &numbers, &differing);
        calls++;
    } while (FindNextFileA(search, &item));
    printf("%lld kernels, %lld of %lld numbers differ\n", (long long)calls, (long long)differing, (long long)numbers);
    return differing != 0;
}
