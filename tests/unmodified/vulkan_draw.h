#ifndef VULKAN_DRAW_H
#define VULKAN_DRAW_H

/* Three draws in a render pass with one image, which is checked. */
void do_draw(void);

#endif
