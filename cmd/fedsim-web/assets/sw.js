'use strict';
// Keeps the files of the page, so that it works without a network after one visit.
const cache = 'fedsim-{{version}}', files = {{files}};
addEventListener('install', e => e.waitUntil(caches.open(cache).then(c => c.addAll(files)).then(() => skipWaiting())));
addEventListener('activate', e => e.waitUntil(caches.keys()
  .then(all => Promise.all(all.filter(name => name.startsWith('fedsim-') && name !== cache).map(name => caches.delete(name))))
  .then(() => clients.claim())));
addEventListener('fetch', e => {
  if (e.request.method !== 'GET' || !e.request.url.startsWith(registration.scope)) return;
  e.respondWith(caches.open(cache).then(c => c.match(e.request, { ignoreSearch: true })).then(kept => kept ?? fetch(e.request)));
});
