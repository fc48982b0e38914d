/* A program that uses no interface. */
int main(void) { return 0; }
