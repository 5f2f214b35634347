#include <setjmp.h>
#include <stddef.h>
#include <string.h>
#include <png.h>
#include <turbojpeg.h>
#include <webp/decode.h>

// libpng's progressive reader. libpng reports errors by longjmp, which must not cross Swift frames: these functions
// catch it. Between two of them the caller can stop.
struct png_reader {
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
  struct png_reader *reader = (struct png_reader *)png_get_error_ptr(png);
  strncpy(reader->message, message, sizeof reader->message - 1);
  png_longjmp(png, 1);
}

static inline void png_reader_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

static inline void png_reader_on_header(png_structp png, png_infop info) {
  struct png_reader *reader = (struct png_reader *)png_get_progressive_ptr(png);
  // 8 bits of red, green and blue in sRGB, which files without a gamma are taken to have.
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_alpha_mode_fixed(png, PNG_ALPHA_PNG, PNG_DEFAULT_sRGB);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  reader->channels = png_get_channels(png, info);
  if (png_get_bit_depth(png, info) != 8 || reader->channels < 3) png_error(png, "unknown pixel layout");
}

static inline void png_reader_on_row(png_structp png, png_bytep row, png_uint_32 number, int pass) {
  struct png_reader *reader = (struct png_reader *)png_get_progressive_ptr(png);
  (void)pass;
  if (row == NULL) return;
  if (reader->pixels == NULL) png_error(png, "no memory for rows");
  size_t length = (size_t)png_get_image_width(png, reader->info) * (size_t)reader->channels;
  png_progressive_combine_row(png, reader->pixels + (size_t)number * length, row);
}

// Returns 0 if there is no memory. The reader must not move.
static inline int png_reader_start(struct png_reader *reader) {
  memset(reader, 0, sizeof *reader);
  reader->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reader, png_reader_error, png_reader_warning);
  if (reader->png == NULL) return 0;
  reader->info = png_create_info_struct(reader->png);
  if (reader->info == NULL) return 0;
  png_set_progressive_read_fn(reader->png, reader, png_reader_on_header, png_reader_on_row, NULL);
  return 1;
}

// Reads the next bytes of the file. Returns 0 after an error; then the reader can only be freed.
static inline int png_reader_read(struct png_reader *reader, const void *bytes, size_t count) {
  if (setjmp(png_jmpbuf(reader->png))) return 0;
  png_process_data(reader->png, reader->info, (png_bytep)bytes, count);
  return 1;
}

// Whether all rows of all passes were read.
static inline int png_reader_has_all_rows(struct png_reader *reader) {
  if (reader->channels == 0) return 0;
  return png_get_interlace_type(reader->png, reader->info) == PNG_INTERLACE_NONE
             ? png_get_current_row_number(reader->png) >= png_get_image_height(reader->png, reader->info)
             : png_get_current_pass_number(reader->png) > 6;
}

static inline void png_reader_free(struct png_reader *reader) {
  png_destroy_read_struct(&reader->png, &reader->info, NULL);
}
