// The first script of every page of the site, in JavaScript that old browsers understand: where Python cannot run, a
// sentence says why instead of an empty page.
(function () {
  var book = "The book and the notebook to download are on the page that brought you here.";
  function reason() {
    if (location.protocol === "file:")
      return "The exercises in the browser need a web server. In the course's folder, run \"make serve\", or open the published book.";
    if (!window.isSecureContext)
      return "The exercises in the browser need an address that begins with https:// (or a server on this computer). " + book;
    if (typeof WebAssembly !== "object" || !("serviceWorker" in navigator) || !window.Worker || !window.BigInt64Array)
      return "This browser is too old to run Python. Versions of Firefox, Chrome, Edge and Safari from the last two years can. Some browsers cannot run it in a private window. " + book;
    return "";
  }
  function show(text, stop) {
    var box = document.createElement("p");
    box.setAttribute("role", "alert");
    box.style.cssText = "position:relative;z-index:1000;margin:0;padding:1em;background:#fdf3f2;color:#222;font:1rem/1.5 sans-serif";
    box.appendChild(document.createTextNode(text));
    if (stop) {
      var main = document.createElement("main");
      main.appendChild(box);
      document.body.replaceChildren ? document.body.replaceChildren(main) : (document.body.innerHTML = main.outerHTML);
    } else document.body.insertBefore(box, document.body.firstChild);
  }
  function whenReady(action) {
    if (document.body) action();
    else document.addEventListener("DOMContentLoaded", action);
  }
  var text = reason();
  if (text) {
    window.addEventListener("DOMContentLoaded", function () { show(text, true); });
    return;
  }
  if (navigator.deviceMemory && navigator.deviceMemory < 2)
    whenReady(function () {
      show("This device has little memory: Python may stop without warning. Save often, or work on a computer. " + book, false);
    });
})();
