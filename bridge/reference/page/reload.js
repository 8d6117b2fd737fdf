// Reloads the page that `plugin-bridge dev` serves, after each build.

const { build } = document.currentScript.dataset;
const builds = new EventSource("builds");

builds.onmessage = ({ data }) => {
  if (data !== build) {
    location.reload();
  }
};

// It never connects again: what answers at this address later may be another program.
builds.onerror = () => builds.close();
