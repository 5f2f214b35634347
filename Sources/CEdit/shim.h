// libedit, with those of its functions that take any number of arguments, which Swift cannot give.
#include <histedit.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

// Text is UTF-8 also where the environment names no language, such as in a container. Before any other function here.
static inline void edit_use_utf8(void) {
  if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
}

// The columns that a character takes on the screen; negative for one that takes none.
extern int wcwidth(wchar_t);
static inline int edit_columns(uint32_t scalar) { return wcwidth((wchar_t)scalar); }

// What the functions that libedit calls need to know.
struct edit_state {
  char *prompt;
  int is_interrupted;
};

// An editor of the standard input, shown on the standard output, or on the standard error where that is no terminal.
static inline EditLine *edit_start(int shows_on_output, struct edit_state *state) {
  EditLine *editor = el_init("chat", stdin, shows_on_output ? stdout : stderr, stderr);
  if (!editor) return editor;
  el_set(editor, EL_CLIENTDATA, state);
  el_set(editor, EL_SIGNAL, 1);
  el_set(editor, EL_EDITOR, "emacs");
  // Ctrl-C and Ctrl-Z come as characters while a line is edited.
  el_set(editor, EL_SETTY, "-d", "-isig", (char *)0);
  return editor;
}
static inline struct edit_state *edit_state_of(EditLine *editor) {
  void *state = 0;
  el_get(editor, EL_CLIENTDATA, &state);
  return (struct edit_state *)state;
}
static inline void edit_set_prompt(EditLine *editor, char *(*prompt)(EditLine *)) {
  el_set(editor, EL_PROMPT, prompt);
}
static inline void edit_set_history(EditLine *editor, History *lines) { el_set(editor, EL_HIST, history, lines); }
static inline void edit_add(
    EditLine *editor, const char *name, const char *help, unsigned char (*function)(EditLine *, wint_t)) {
  el_set(editor, EL_ADDFN, name, help, function);
}
// From now on keys come as characters, as they do while a line is read.
static inline void edit_prepare(EditLine *editor) { el_set(editor, EL_PREP_TERM, 1); }
static inline void edit_bind(EditLine *editor, const char *keys, const char *function) {
  el_set(editor, EL_BIND, keys, function, (char *)0);
}
// Returns whether there was one more character.
static inline int edit_next(EditLine *editor, uint32_t *scalar) {
  wchar_t character = 0;
  int count = el_wgetc(editor, &character);
  *scalar = (uint32_t)character;
  return count == 1;
}
static inline void edit_keep(History *lines, int count) {
  HistEvent event;
  history(lines, &event, H_SETSIZE, count);
  history(lines, &event, H_SETUNIQUE, 1);
}
static inline void edit_remember(History *lines, const char *line) {
  HistEvent event;
  history(lines, &event, H_ENTER, line);
}
static inline int edit_load(History *lines, const char *file) {
  HistEvent event;
  return history(lines, &event, H_LOAD, file);
}
static inline int edit_save(History *lines, const char *file) {
  HistEvent event;
  return history(lines, &event, H_SAVE, file);
}
