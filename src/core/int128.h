/* 128-bit integers, for products and scaled decimals that pass 64 bits on the way to a 64-bit
 * result. */
#ifndef CORE_INT128_H
#define CORE_INT128_H

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

#endif
