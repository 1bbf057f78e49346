/* replay - runs a fuzz target over every file of its corpus, so that a corpus is an ordinary test.
 * Usage: fuzz_NAME CORPUS_FOLDER_OR_FILE...; fails when no input was found. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info) < 0) {
        perror(path);
        exit(1);
    }
    /* Exactly as large as the input, so that ASan sees a read of one byte past it. */
    uint8_t *data = malloc(info.st_size ? (size_t)info.st_size : 1);
    size_t size = fread(data, 1, (size_t)info.st_size, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static int replay_folder(const char *path) {
    DIR *folder = opendir(path);
    if (!folder)
        return replay_file(path);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count += replay_file(name);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += replay_folder(argv[i]);
    printf("%d inputs replayed\n", count);
    return count > 0 ? 0 : 1;
}
