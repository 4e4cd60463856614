// What scrolls by itself can be reached by the keyboard; what the theme leaves without a name has one for screen readers.
addEventListener("load", () => {
  for (const box of document.querySelectorAll(".table-wrapper, .picture, pre"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  for (const caption of document.querySelectorAll(".caption[role=heading]")) caption.ariaLevel = "2";
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "all pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "on this page");
});
