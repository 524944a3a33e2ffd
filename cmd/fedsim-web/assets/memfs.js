'use strict';
// The files of Go's program, in memory: a tree of folders (Map) and files. Go's package syscall calls the functions of
// Node's fs. They call back at once: timers would make each call take 4 ms.
globalThis.memfs = (() => {
  const root = new Map(), opened = new Map(), numbers = new WeakMap(), decoder = new TextDecoder();
  const flag = { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 0o100, O_EXCL: 0o200, O_TRUNC: 0o1000, O_APPEND: 0o2000, O_DIRECTORY: 0o200000 };
  let nextHandle = 10, nextNumber = 2, printed = '';
  const no = code => Object.assign(new Error(code), { code });
  const isFolder = node => node instanceof Map;

  function parts(path) {
    const list = [];
    for (const name of path.split('/')) if (name === '..') list.pop(); else if (name && name !== '.') list.push(name);
    return list;
  }
  // find returns the node of a path, its name and the folder that has it.
  function find(path) {
    const list = parts(path);
    let folder = null, node = root, name = '';
    for (const [i, part] of list.entries()) {
      if (node === undefined) throw no('ENOENT');
      if (!isFolder(node)) throw no('ENOTDIR');
      [folder, name, node] = [node, part, node.get(part)];
      if (node === undefined && i < list.length - 1) throw no('ENOENT');
    }
    return { folder, name, node };
  }
  function existing(path) {
    const found = find(path);
    if (found.node === undefined) throw no('ENOENT');
    return found;
  }
  function stat(node) {
    if (!numbers.has(node)) numbers.set(node, nextNumber++);
    const size = isFolder(node) ? 0 : node.size, at = isFolder(node) ? 0 : node.changed;
    return { dev: 1, ino: numbers.get(node), mode: isFolder(node) ? 0o40777 : 0o100666, nlink: 1, uid: 0, gid: 0, rdev: 0,
      size, blksize: 4096, blocks: Math.ceil(size / 512), atimeMs: at, mtimeMs: at, ctimeMs: at, isDirectory: () => isFolder(node) };
  }
  function resize(file, size) {
    if (size > file.bytes.length) {
      const larger = new Uint8Array(Math.max(size, 2 * file.bytes.length, 1024));
      larger.set(file.bytes.subarray(0, file.size));
      file.bytes = larger;
    }
    file.bytes.fill(0, Math.min(size, file.size), file.size);
    file.size = size; file.changed = Date.now();
  }
  const handle = number => { if (!opened.has(number)) throw no('EBADF'); return opened.get(number); };
  const file = number => { const h = handle(number); if (isFolder(h.node)) throw no('EISDIR'); return h; };

  const calls = {
    open(path, flags) {
      const { folder, name, node } = find(path);
      const create = flags & flag.O_CREAT;
      let own = node;
      if (own !== undefined && create && flags & flag.O_EXCL) throw no('EEXIST');
      if (own === undefined && !create) throw no('ENOENT');
      if (own !== undefined && flags & flag.O_DIRECTORY && !isFolder(own)) throw no('ENOTDIR');
      if (isFolder(own) && flags & (flag.O_WRONLY | flag.O_RDWR)) throw no('EISDIR');
      if (own === undefined) folder.set(name, own = { bytes: new Uint8Array(0), size: 0, changed: Date.now() });
      if (flags & flag.O_TRUNC) resize(own, 0);
      opened.set(++nextHandle, { node: own, at: 0, append: flags & flag.O_APPEND });
      return nextHandle;
    },
    close(number) { handle(number); opened.delete(number); },
    read(number, buffer, offset, length, position) {
      const h = file(number), at = position ?? h.at;
      const found = h.node.bytes.subarray(at, Math.max(at, Math.min(at + length, h.node.size)));
      buffer.set(found, offset);
      if (position == null) h.at += found.length;
      return found.length;
    },
    write(number, buffer, offset, length, position) {
      const content = buffer.subarray(offset, offset + length);
      if (number < 10) { printed = (printed + decoder.decode(content)).slice(-4000); return length; }
      const h = file(number), at = position ?? (h.append ? h.node.size : h.at);
      if (at + length > h.node.size) resize(h.node, at + length);
      h.node.bytes.set(content, at); h.node.changed = Date.now();
      if (position == null) h.at = at + length;
      return length;
    },
    stat: path => stat(existing(path).node), lstat: path => stat(existing(path).node), fstat: n => stat(handle(n).node),
    mkdir(path) {
      const { folder, name, node } = find(path);
      if (node !== undefined) throw no('EEXIST');
      folder.set(name, new Map());
    },
    readdir(path) {
      const { node } = existing(path);
      if (!isFolder(node)) throw no('ENOTDIR');
      return [...node.keys()];
    },
    rename(from, to) {
      const a = existing(from), b = find(to);
      if (a.node === b.node) return;
      if (isFolder(b.node)) throw no(isFolder(a.node) && b.node.size === 0 ? 'ENOTEMPTY' : 'EISDIR');
      if (parts(to).join('/').startsWith(parts(from).join('/') + '/')) throw no('EINVAL');
      a.folder.delete(a.name); b.folder.set(b.name, a.node);
    },
    unlink(path) {
      const { folder, name, node } = existing(path);
      if (isFolder(node)) throw no('EISDIR');
      folder.delete(name);
    },
    rmdir(path) {
      const { folder, name, node } = existing(path);
      if (!isFolder(node)) throw no('ENOTDIR');
      if (node.size > 0) throw no('ENOTEMPTY');
      folder.delete(name);
    },
    truncate(path, size) { resize(existing(path).node, size); }, ftruncate(number, size) { resize(file(number).node, size); },
    fsync() {}, utimes() {}, chmod() {}, fchmod() {}, chown() {}, fchown() {}, lchown() {},
    link() { throw no('ENOSYS'); }, symlink() { throw no('ENOSYS'); }, readlink() { throw no('EINVAL'); },
  };
  globalThis.fs = { constants: flag, writeSync: (number, buffer) => calls.write(number, buffer, 0, buffer.length, null) };
  for (const [name, call] of Object.entries(calls)) {
    globalThis.fs[name] = (...args) => {
      const done = args.pop();
      let value;
      try { value = call(...args); } catch (e) { done(e.code ? e : no('EIO')); return; }
      done(null, value);
    };
  }
  globalThis.path = { resolve: (...list) => '/' + parts(list.join('/')).join('/') };
  globalThis.process = { pid: 1, ppid: 1, umask: () => 0, cwd: () => '/', chdir() {}, hrtime: () => [0, 0], getuid: () => 0,
    getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: () => [] };
  return {
    printed: () => printed,
    clear(path) { const { folder, name } = find(path); folder.delete(name); },
    // each calls for every file below a folder: its path in it and its bytes.
    each(path, call, within = '') {
      for (const [name, node] of existing(path).node) {
        if (isFolder(node)) memfs.each(`${path}/${name}`, call, `${within}${name}/`);
        else call(within + name, node.bytes.subarray(0, node.size));
      }
    },
  };
})();
