"use strict";
// Draws each chart from the JSON beside it, in the colours of the page, and again when the scheme changes.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 40rem)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function dressed(figure) {
    const [paper, ink, muted, grid] = ["paper", "ink", "muted", "grid"].map(colour);
    const layout = structuredClone(figure.layout);
    layout.paper_bgcolor = layout.plot_bgcolor = paper;
    layout.font = { family: "system-ui, sans-serif", size: 12, color: muted };
    layout.hoverlabel = { bgcolor: paper, bordercolor: grid, font: { color: ink } };
    for (const axis of [layout.xaxis, layout.yaxis]) {
      Object.assign(axis, { gridcolor: grid, linecolor: grid, zerolinecolor: grid });
    }
    if (narrow.matches) layout.yaxis.title = { text: null };
    const data = structuredClone(figure.data);
    for (const trace of data) {
      // A thin line of paper parts the pieces of a stack, for readers who see their colours alike.
      if (trace.type === "bar" && trace.x.length <= 50) trace.marker.line = { color: paper, width: 1 };
    }
    return [data, layout, { displayModeBar: false, displaylogo: false, responsive: true }];
  }

  function draw(source) {
    const place = document.getElementById(source.dataset.chart);
    const failed = (error) => {
      place.classList.add("failed");
      place.textContent = `This chart could not be drawn: ${error.message}`;
    };
    try {
      Plotly.react(place, ...dressed(JSON.parse(source.textContent))).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  const drawAll = () => document.querySelectorAll("script[data-chart]").forEach(draw);
  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  drawAll();
})();
