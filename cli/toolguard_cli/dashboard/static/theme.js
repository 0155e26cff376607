// Light or dark theme: the system's, until the user chooses one.

const KEPT = "toolguard.theme";

/**
 * @param {HTMLElement} button
 * @param {() => void} changed
 */
export function startTheme(button, changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const draw = () => {
    const kept = localStorage.getItem(KEPT);
    const theme = kept === "light" || kept === "dark" ? kept : system.matches ? "dark" : "light";
    document.documentElement.dataset["theme"] = theme;
    button.textContent = theme === "dark" ? "Light theme" : "Dark theme"; // the theme that a press switches to
    changed();
  };
  button.addEventListener("click", () => {
    const next = document.documentElement.dataset["theme"] === "dark" ? "light" : "dark";
    localStorage.setItem(KEPT, next);
    draw();
  });
  system.addEventListener("change", draw);
  draw();
}
