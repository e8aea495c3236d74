try{const t=localStorage.getItem("cranfield-theme");if(t==="dark"||t==="light")document.documentElement.dataset.theme=t}catch{}document.documentElement.classList.add("js")
