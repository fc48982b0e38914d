/* The built page, as bytes: an array in C++ would take seconds to compile. CMakeLists.txt says in which folder it is. */
  .macro embed name, file
  .balign 16
  .global kymo_page_\name\()_begin
  .hidden kymo_page_\name\()_begin
  .global kymo_page_\name\()_end
  .hidden kymo_page_\name\()_end
kymo_page_\name\()_begin:
  .incbin "\file"
kymo_page_\name\()_end:
  .byte 0
  .endm

  .section .rodata
  embed html, index.html.gz
  embed script, page.js.gz
  embed style, page.css.gz

  .section .note.GNU-stack, "", %progbits
