// Light or dark: as the system has it, until the person says otherwise.

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
    button.textContent = theme === "dark" ? "Light theme" : "Dark theme"; // what a press does
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
