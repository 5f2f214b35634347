#include <dlfcn.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>
#include <png.h>
#include <turbojpeg.h>
#include <webp/decode.h>

// The functions that are used. Programs are not linked with these libraries: each is loaded when an image of its format
// is read.
#define LIBPNG_FUNCTIONS(F) \
  F(png_create_read_struct) F(png_create_info_struct) F(png_set_progressive_read_fn) F(png_process_data) \
  F(png_destroy_read_struct) F(png_get_error_ptr) F(png_get_progressive_ptr) F(png_error) F(png_longjmp) \
  F(png_set_longjmp_fn) F(png_set_expand) F(png_set_scale_16) F(png_set_gray_to_rgb) F(png_set_alpha_mode_fixed) \
  F(png_set_interlace_handling) F(png_read_update_info) F(png_get_channels) F(png_get_bit_depth) \
  F(png_get_image_width) F(png_get_image_height) F(png_get_interlace_type) F(png_progressive_combine_row) F(png_get_current_row_number) \
  F(png_get_current_pass_number)
#define TURBOJPEG_FUNCTIONS(F) \
  F(tjInitDecompress) F(tjDestroy) F(tjDecompressHeader3) F(tjDecompress2) F(tjGetErrorStr2) F(tjGetErrorCode)
#define LIBWEBP_FUNCTIONS(F) F(WebPGetFeaturesInternal) F(WebPINewRGB) F(WebPIUpdate) F(WebPIDelete)

// A struct of functions, and how it is filled: `NAME_find` returns the name of a function that the loaded library lacks,
// or NULL.
#define FUNCTION_FIELD(name) __typeof__(name) *name;
#define FUNCTION_FIND(name) \
  if ((functions->name = (__typeof__(name) *)dlsym(library, #name)) == NULL) return #name;
#define LIBRARY(NAME, FUNCTIONS) \
  struct NAME { \
    FUNCTIONS(FUNCTION_FIELD) \
  }; \
  static inline const char *NAME##_find(struct NAME *functions, void *library) { \
    FUNCTIONS(FUNCTION_FIND) \
    return NULL; \
  }
LIBRARY(libpng, LIBPNG_FUNCTIONS)
LIBRARY(turbojpeg, TURBOJPEG_FUNCTIONS)
LIBRARY(libwebp, LIBWEBP_FUNCTIONS)

// For the callbacks of libpng, which would have to ask libpng for a pointer of ours. All readers have the same. Each object file
// that starts readers has a variable of its own, and so have the callbacks that it registers.
static inline const struct libpng **png_callback_functions(void) {
  static const struct libpng *functions;
  return &functions;
}
#define PNG __atomic_load_n(png_callback_functions(), __ATOMIC_RELAXED)

// libpng's progressive reader. libpng reports errors by longjmp, which must not cross Swift frames: these functions
// catch it. Between two of them the caller can stop.
struct png_reader {
  const struct libpng *functions;
  png_structp png;
  png_infop info;
  // Rows from the top, `channels` bytes per pixel. Set by the caller once `channels` is known.
  unsigned char *pixels;
  // 3 or 4, the last one straight alpha; 0 until the header was read.
  int channels;
  // Of the last error.
  char message[96];
};

static inline void png_reader_error(png_structp png, png_const_charp message) {
  struct png_reader *reader = (struct png_reader *)PNG->png_get_error_ptr(png);
  strncpy(reader->message, message, sizeof reader->message - 1);
  PNG->png_longjmp(png, 1);
}

static inline void png_reader_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

static inline void png_reader_on_header(png_structp png, png_infop info) {
  struct png_reader *reader = (struct png_reader *)PNG->png_get_progressive_ptr(png);
  // 8 bits of red, green and blue in sRGB, which files without a gamma are taken to have.
  PNG->png_set_expand(png);
  PNG->png_set_scale_16(png);
  PNG->png_set_gray_to_rgb(png);
  PNG->png_set_alpha_mode_fixed(png, PNG_ALPHA_PNG, PNG_DEFAULT_sRGB);
  PNG->png_set_interlace_handling(png);
  PNG->png_read_update_info(png, info);
  reader->channels = PNG->png_get_channels(png, info);
  if (PNG->png_get_bit_depth(png, info) != 8 || reader->channels < 3)
    PNG->png_error(png, "unknown pixel layout");
}

static inline void png_reader_on_row(png_structp png, png_bytep row, png_uint_32 number, int pass) {
  struct png_reader *reader = (struct png_reader *)PNG->png_get_progressive_ptr(png);
  (void)pass;
  if (row == NULL) return;
  if (reader->pixels == NULL) PNG->png_error(png, "no memory for rows");
  size_t length = (size_t)PNG->png_get_image_width(png, reader->info) * (size_t)reader->channels;
  PNG->png_progressive_combine_row(png, reader->pixels + (size_t)number * length, row);
}

// Returns 0 if there is no memory. The reader must not move.
static inline int png_reader_start(struct png_reader *reader, const struct libpng *functions) {
  __atomic_store_n(png_callback_functions(), functions, __ATOMIC_RELAXED);
  memset(reader, 0, sizeof *reader);
  reader->functions = functions;
  reader->png = reader->functions->png_create_read_struct(PNG_LIBPNG_VER_STRING, reader, png_reader_error, png_reader_warning);
  if (reader->png == NULL) return 0;
  reader->info = reader->functions->png_create_info_struct(reader->png);
  if (reader->info == NULL) return 0;
  reader->functions->png_set_progressive_read_fn(reader->png, reader, png_reader_on_header, png_reader_on_row, NULL);
  return 1;
}

// Reads the next bytes of the file. Returns 0 after an error; then the reader can only be freed.
static inline int png_reader_read(struct png_reader *reader, const void *bytes, size_t count) {
  if (setjmp(*reader->functions->png_set_longjmp_fn(reader->png, longjmp, sizeof(jmp_buf)))) return 0;
  reader->functions->png_process_data(reader->png, reader->info, (png_bytep)bytes, count);
  return 1;
}

// Whether all rows of all passes were read.
static inline int png_reader_has_all_rows(struct png_reader *reader) {
  if (reader->channels == 0) return 0;
  return reader->functions->png_get_interlace_type(reader->png, reader->info) == PNG_INTERLACE_NONE
             ? reader->functions->png_get_current_row_number(reader->png) >= reader->functions->png_get_image_height(reader->png, reader->info)
             : reader->functions->png_get_current_pass_number(reader->png) > 6;
}

static inline void png_reader_free(struct png_reader *reader) {
  reader->functions->png_destroy_read_struct(&reader->png, &reader->info, NULL);
}
