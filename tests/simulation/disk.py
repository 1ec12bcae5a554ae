"""What a loss of power leaves of the files, computed from the journal of machine.c.

An inode has what its last fsync found, and the changes since then; a folder has the names of its last fsync, and the
changes of names since then. What a loss of power leaves of both is a prefix, as journaling file systems keep the order:
all of the changes, none, or some, of which the last write may be torn at any byte. Each inode and each folder is cut
on its own: an fsync of a file says nothing about its name, and a rename nothing about the data.

Within that prefix pages are written in any order. In files that are written once each page that
was not synced may be missing; in those that grow, where no server could tell that from data, only the last
ones: the file ends with zeros. That is what `aof-load-corrupt-tail-max-size` is for, so only if zero_tails is set.

An fsync that fails may drop the pages that it was to write: the next one succeeds without them (a file system marks
them clean). They are there for whoever reads the file, until the loss of power, unless they are written once more.
"""
import os
import struct

CREATE, WRITE, CUT, SYNC_BEGIN, SYNC_END, RENAME, UNLINK, MKDIR, LINK, SYNC_FAIL = range(1, 11)
PAGE = 4096
ENTRY = struct.Struct("<5Q")


class Log:
    """Changes in order, the first of which are safe."""

    def __init__(self):
        self.changes, self.safe = [], 0


class Inode(Log):
    def __init__(self, data=b""):
        super().__init__()
        self.data = bytearray(data)
        self.grows = False  # it is an increment of an append-only file
        self.dropped = []  # (from, to) of the changes that a failed fsync was to write

    def apply(self, change):
        at, data = change
        if data is None:
            del self.data[at:]
            self.data.extend(bytes(at - len(self.data)))
        else:
            self.data.extend(bytes(max(0, at - len(self.data))))
            self.data[at:at + len(data)] = data

    def torn(self, change, rng):
        at, data = change
        return (at, data[:rng.randrange(len(data))]) if data else None

    def state(self, count):
        """Its data after that many changes."""
        copy = Inode(self.data)
        for change in self.changes[:count]:
            copy.apply(change)
        return copy.data

    def pages(self, start, end):
        """Those that these changes wrote."""
        return {page for at, data in self.changes[start:end] if data
                for page in range(at // PAGE, (at + len(data) - 1) // PAGE + 1)}

    def lost_pages(self, most, zero_tails, rng):
        """Returns pages, each with the number of changes of which the disk has its contents, and not what follows."""
        lost = {}
        for start, end in self.dropped if rng.random() < 0.7 else ():
            end = min(end, most)
            for page in self.pages(start, end) - self.pages(end, most):
                lost.setdefault(page, start)
        unsafe = sorted(self.pages(self.safe, most)) if self.safe < most and rng.random() < 0.5 else []
        if not self.grows:
            lost.update((page, self.safe) for page in unsafe if rng.random() < 0.5)
        elif unsafe and zero_tails:
            lost.update((page, self.safe) for page in unsafe[rng.randrange(len(unsafe)):])
        return lost

    def lose_pages(self, lost, states, zero_tails):
        for page, count in sorted(lost.items(), reverse=True):
            start, end = page * PAGE, min(len(self.data), (page + 1) * PAGE)
            old = states[count][start:end]
            if end == len(self.data) and self.grows and not zero_tails:
                self.data[start:end] = old  # the size is that of what was written
            elif start < end:
                self.data[start:end] = old + bytes(end - start - len(old))


class Folder(Log):
    def __init__(self):
        super().__init__()
        self.names = {}  # to an Inode or a Folder

    def apply(self, change):
        kind, name, what = change
        if kind == RENAME:
            self.names[what] = self.names.pop(name)
        elif kind == UNLINK:
            self.names.pop(name)
        else:
            self.names[name] = what

    def torn(self, change, rng):
        return None

    def lost_pages(self, most, zero_tails, rng):
        return {}


class Disk:
    def __init__(self, path, zero_tails=False, drops=False):
        """drops: an fsync that fails drops what it was to write."""
        self.path, self.root, self.zero_tails, self.drops = path, Folder(), zero_tails, drops
        self.inodes, self.folders, self.syncs, self.moves = {}, {"": self.root}, {}, []
        os.mkdir(path)

    @staticmethod
    def read_journal(view, used, disks):
        """disks: by the number of their host."""
        at = 0
        while at < used:
            kind, inode, offset, slot, length = ENTRY.unpack_from(view, at)
            at += ENTRY.size
            disks[slot >> 32].replay(kind, inode, offset, slot, bytes(view[at:at + length]))
            at += (length + 7) & ~7

    def add(self, path, what):
        folder, _, name = path.rpartition("/")
        if isinstance(what, Inode):
            what.grows = ".incr" in name
        self.folders[folder].changes.append((CREATE, name, what))

    def replay(self, kind, inode, offset, slot, data):
        if kind == CREATE:
            self.inodes[inode] = Inode()
            if data:  # else it has no name yet
                self.add(data.decode(), self.inodes[inode])
        elif kind == LINK:
            self.add(data.decode(), self.inodes[inode])
        elif kind == MKDIR:
            self.folders[data.decode()] = Folder()
            self.add(data.decode(), self.folders[data.decode()])
        elif kind in (WRITE, CUT):
            self.inodes[inode].changes.append((offset, data if kind == WRITE else None))
        elif kind in (SYNC_BEGIN, SYNC_END, SYNC_FAIL):
            log = self.inodes[inode] if inode else self.folders[data.decode()]
            if kind == SYNC_BEGIN:
                self.syncs[slot] = len(log.changes)
            elif kind == SYNC_FAIL:
                if inode and self.drops:
                    log.dropped.append((log.safe, self.syncs[slot]))
            else:
                log.safe = max(log.safe, self.syncs[slot])
        else:
            names = [os.path.split(path) for path in data.decode().split("\0")]
            (folder, name), (to, new) = names[0], names[-1]
            if folder == to:
                self.folders[folder].changes.append((kind, name, new))
            else:
                self.move(self.folders[folder], name, self.folders[to], new)

    def move(self, folder, name, to, new):
        """A rename between folders: the old name goes when the new one is on the disk."""
        found = [what for kind, n, what in folder.changes if n == name and kind == CREATE]
        to.changes.append((CREATE, new, found[-1] if found else folder.names[name]))
        self.moves.append((folder, name, to, len(to.changes)))

    def cut(self, log, rng):
        """Brings it into the state that the loss of power leaves."""
        count = len(log.changes)
        most = log.kept = rng.choice((log.safe, count, rng.randint(log.safe, count)))
        lost = log.lost_pages(most, self.zero_tails, rng)
        states = {n: log.state(n) for n in set(lost.values())}
        for change in log.changes[:most]:
            log.apply(change)
        if lost:
            log.lose_pages(lost, states, self.zero_tails)
        elif most < count and rng.random() < 0.7:
            torn = log.torn(log.changes[most], rng)
            if torn:
                log.apply(torn)

    def lose_power(self, rng, path):
        """Returns the disk after the loss, with its files in a new folder."""
        for log in [*self.folders.values(), *self.inodes.values()]:
            self.cut(log, rng)
        for folder, name, to, count in self.moves:
            if to.kept >= count:
                folder.names.pop(name, None)
        after = Disk(path, self.zero_tails, self.drops)
        after.fill("", self.root)
        return after

    def fill(self, prefix, folder):
        for name, what in sorted(folder.names.items()):
            inner = prefix + name
            full = os.path.join(self.path, inner)
            if isinstance(what, Folder):
                os.mkdir(full)
                self.folders[inner] = Folder()
                self.fill(inner + "/", what)
                self.folders[prefix.rstrip("/")].names[name] = self.folders[inner]
            else:
                self.put(inner, what.data)

    def put(self, path, data):
        """Makes a file that is safe."""
        folder, _, name = path.rpartition("/")
        with open(os.path.join(self.path, path), "wb") as f:
            f.write(data)
            inode = os.fstat(f.fileno()).st_ino
        self.inodes[inode] = self.folders[folder].names[name] = Inode(data)
        self.inodes[inode].grows = ".incr" in name
