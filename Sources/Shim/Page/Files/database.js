// Stores in this browser's IndexedDB, which has room for images.

/**
 * Opens a database with one store, whose values have their key in `key`.
 *
 * @returns `run(mode, action)`: has `action` ask the store something, and gives what it answers once that is on the disk
 */
export function openStore(database, name) {
  let opened = null;
  const open = () => new Promise((resolve, reject) => {
    const request = indexedDB.open(database, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(name, { keyPath: "key" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return async (mode, action) => {
    const transaction = (await (opened ??= open())).transaction(name, mode);
    return new Promise((resolve, reject) => {
      const request = action(transaction.objectStore(name));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
  };
}
