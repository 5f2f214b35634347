// Sizes as people read them.

/** `98 MB`, `5.1 GB` */
export function bytesText(count) {
  return count >= 1e9 ? `${(count / 1e9).toFixed(1)} GB` : `${Math.round(count / 1e6)} MB`;
}

/** `135 million parameters` */
export function countText(count) {
  const [scale, name] = count >= 1e9 ? [1e9, "billion"] : [1e6, "million"];
  return `${Number((count / scale).toPrecision(3))} ${name} parameters`;
}
